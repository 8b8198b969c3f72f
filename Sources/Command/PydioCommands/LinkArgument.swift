import ArgumentParser
import Foundation

/// A public link as named by the user: its address, or the last part of it.
struct LinkArgument: Hashable, Sendable {
    /// The server's id of the link.
    let id: String

    init(_ text: String) throws(ValidationError) {
        let path = text.prefix { $0 != "?" && $0 != "#" }
        let last = path.split(separator: "/").last.map { String($0) } ?? ""
        let name = last.hasSuffix(".php") ? String(last.dropLast(4)) : last
        guard !name.isEmpty, name.wholeMatch(of: /[A-Za-z0-9._~-]+/) != nil else {
            throw ValidationError("a link is its address, or the last part of it.")
        }
        id = name
    }
}
