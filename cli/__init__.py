"""The program: its options, its streams, and the command beside it. Imports nothing by itself."""
