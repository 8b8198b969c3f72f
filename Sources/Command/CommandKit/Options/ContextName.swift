package import ArgumentParser

/// The name of a context, as an argument.
package struct ContextName: ParsableArguments {
    @Argument(help: "The context's name.", completion: .custom { _, _, _ in Self.known })
    package var name: String

    package init() {}

    package func validate() throws {
        guard name.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._-]{0,63}/) != nil else {
            throw ValidationError("A context's name must be 1 to 64 letters, digits and . _ -, not “\(name)”.")
        }
    }

    package static var known: [String] {
        ((try? ContextFile().load())?.contexts.keys.sorted()) ?? []
    }
}
