package import ArgumentParser

/// `pydio`, with its subcommands.
package let pydioCommands: [any ParsableCommand.Type] = [PydioCommand.self]
