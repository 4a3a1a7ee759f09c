-- An answer may call tools, with text or without. What it has besides its text is
-- JSON byte for byte, for a replay of the conversation: its calls, and what the vendor
-- wants to have back. Empty for an answer that is text alone.

alter table model_call add column beside bytea not null default '';
