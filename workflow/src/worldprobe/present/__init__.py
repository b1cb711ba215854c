"""Tables, figures and the report page, whichever benchmark they show."""
