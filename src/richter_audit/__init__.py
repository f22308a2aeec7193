"""What asks models and keeps what was paid for: models, judges, item sets, knowledge bases, search, stages of an audit.

`richter` reads and measures what this package writes, and never imports it. Entry points name the commands here
(`richter.commands`) and the report's section on searches (`richter.sections`).
"""
