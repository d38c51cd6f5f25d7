"""Training a biLM with the whole text in memory and every step on one GPU (`recipe=gpu`).

encode.py turns text into numbers once, batches.py makes batches of whole sentences, network.py is the biLM with
kernels.py in its time loop, cross_entropy.py the softmax, muon.py an optimiser, loop.py the training.
"""
