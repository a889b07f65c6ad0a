"""What is kept between passes: KV pages of full-attention layers, state slots of DeltaNet layers, who owns which."""
