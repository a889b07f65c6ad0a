"""What is computed: config, weights, tokenizer, batch, blocks and the model. Importing it imports no torch."""
