"""The operations of the model: `reference` says what each computes, `cpu` and `native` compute it fast, `dispatch` chooses."""
