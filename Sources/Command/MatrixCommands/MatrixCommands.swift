package import ArgumentParser

/// The command `matrix` with its subcommands.
package let matrixCommands: [any ParsableCommand.Type] = [MatrixCommand.self]
