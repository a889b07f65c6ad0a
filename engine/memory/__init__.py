"""What is kept between passes: KV pages of the full-attention layers, state slots of the Gated DeltaNet layers, and who owns which."""
