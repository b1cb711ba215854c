"""What makes a stage run again, besides inputs and options: its code if it is cheap, a number if it
is expensive.

Expensive are the stages that train or ask models, and those that make what models are trained on or
asked. When a change of code moves what one of them computes, raise its number here: the rule runs
again, and a model is asked again, because its kept answers are kept under the number.
``tests/golden/test_methods.py`` fails where numbers moved and the number did not.
"""

from __future__ import annotations

#: EWoK: templates, items, and a model's scores and responses.
TEMPLATES = 2
ITEMS = 2
SCORE = 4
#: WorldSense: trials and a model's responses.
TRIALS = 6
ASK = 3
ASK_EXTERNAL = 1
#: How scores of checkpoints are gathered, besides what asks them.
CHECKPOINTS = 1
#: What is read from answers: both are read again, and no model is asked.
READING = 4
#: Control models, and word vectors.
CORPUS = 2
TOKENIZER = 1
TRAINING = 2
VECTORS = 2
#: Fine-tuning on WorldSense's problems.
PHRASES = 7
LESSONS = 7
START_MODEL = 1
FINETUNING = 1
