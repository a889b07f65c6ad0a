"""What is computed: config, weights, tokenizer, batch, blocks and the model. Importing the package itself imports no torch."""
