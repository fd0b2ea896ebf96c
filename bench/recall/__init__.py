"""Whether recall brings back the right thing, on public sets whose files are given by path.

python -m bench.recall --data FOLDER            all sets, baselines and Recollect
python -m bench.recall --data FOLDER locomo     one set
python -m bench.recall --data FOLDER --only Recollect --sample 50 --seed 7     a quick look

`Recollect` is the product: a new project, `record` for every turn, `recall` for every question.

No model takes part: each set says which turns or sessions hold the evidence. One index is
built for each haystack (a LoCoMo conversation, a LongMemEval question's history, all of
LongMemEval in one pool, a repository's sessions) and thrown away.
"""
