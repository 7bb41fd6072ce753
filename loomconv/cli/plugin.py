import click

command = click.Group("plugin")
