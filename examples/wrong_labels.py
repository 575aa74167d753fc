"""Wrong labels: find them, correct them on a sheet, and train again.

    python examples/wrong_labels.py [EPOCHS]

Learn what an audit of a recording is worth. A tenth of the labels of the digits are wrong.
The recording of a model that trains on these labels ranks them. The script fills in the sheet with
the true labels of the suspects, as a person would. `wrong_labels.png` shows the quality of right
and of wrong labels. A nearest-neighbour classifier, which trusts every label, is trained before and
after.
"""

import sys
from pathlib import Path
from shutil import rmtree

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import dualprune
from dualprune.report.figures import figure
from dualprune.suspects import corrected, write_review

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
pixels, digits = load_digits(return_X_y=True)
x, test_x, truth, test_y = train_test_split(pixels / 16, digits, random_state=0)
rng = np.random.default_rng(0)
wrong = rng.random(len(truth)) < 0.1
labels = np.where(wrong, (truth + rng.integers(1, 10, len(truth))) % 10, truth)

rmtree("wrong_labels", ignore_errors=True)
np.savez("wrong_labels.npz", x=x.reshape(-1, 8, 8), y=labels)
dualprune.prune("wrong_labels.npz", keep=0.5, epochs=epochs, out="wrong_labels")
audit, sheet = dualprune.audit("wrong_labels/run"), Path("wrong_labels/review.csv")
write_review(audit, sheet)
rows = pd.read_csv(sheet)
rows.assign(label=truth[rows["id"]]).to_csv(sheet, index=False)  # a person does this
mended = corrected(sheet, labels, [str(digit) for digit in range(10)])
print(f"{wrong.sum()} wrong labels, {len(rows)} suspects, {wrong[rows['id']].sum()} of them wrong")

for name, y in {"before": labels, "after": mended, "all right": truth}.items():
    accuracy = KNeighborsClassifier(1).fit(x, y).score(test_x, test_y)
    print(f"labels {name}: accuracy {accuracy:.1%}")

quality, is_wrong = audit.columns["label_quality"], wrong[audit.columns["id"]]
axes = (canvas := figure(6, 4)).subplots()
axes.hist([quality[~is_wrong], quality[is_wrong]], 40, stacked=True, label=["right", "wrong"])
axes.set(xlabel="quality of the label", ylabel="samples")
axes.legend()
canvas.savefig("wrong_labels.png")
