package import ArgumentParser

/// The command `pydio` with its subcommands.
package let pydioCommands: [any ParsableCommand.Type] = [PydioCommand.self]
