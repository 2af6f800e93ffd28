"""What must survive: one SQLite file behind the ports, written by one thread.

Read `database` first (one writer, group commit, readers beside it), then `event_store`, which
holds the fence. `disk_fault` says what an error of the disk means; `migrate` brings an older
file forward and refuses a newer one. The other files are one table or two each.
"""
