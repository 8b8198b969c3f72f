package import ArgumentParser
import Foundation
import Transport

/// Parses header fields of the form `Name: value`.
package enum HeaderOption {
    /// - Parameter option: The option's name for the error message, which never includes the value because it may be a
    ///   token.
    package static func fields(_ headers: [String], of option: String) throws(ValidationError) -> [String: String] {
        var fields: [String: String] = [:]
        for header in headers {
            let parts = header.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw ValidationError("\(option) takes 'Name: value'.") }
            fields[String(parts[0])] = parts[1].trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
        }
        return fields
    }

    /// Checks fields for the handshake of a WebSocket, which has its own.
    package static func checkHandshake(_ headers: [String], of option: String) throws(ValidationError) {
        var fields = HTTPFields()
        for (name, value) in try self.fields(headers, of: option) { fields.append(name: name, value: value) }
        do throws(TransportError) {
            try fields.validateForHandshake()
        } catch {
            throw ValidationError("\(option): \(error.message).")
        }
    }
}
