"""The operations of the model: `reference` says what each computes, others compute it fast, `dispatch` chooses."""
