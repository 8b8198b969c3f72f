package import ArgumentParser

/// `matrix`, with its subcommands.
package let matrixCommands: [any ParsableCommand.Type] = [MatrixCommand.self]
