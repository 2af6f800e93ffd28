"""The schema, one numbered SQL file per step. A file that was released is never edited."""
