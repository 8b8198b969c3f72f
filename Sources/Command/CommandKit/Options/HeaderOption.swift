package import ArgumentParser
import Foundation
import Transport

/// Reads header fields that are given as `Name: value`.
package enum HeaderOption {
    /// - Parameter option: Its name, for the message, which never has the value: it may be a token.
    package static func fields(_ headers: [String], of option: String) throws(ValidationError) -> [String: String] {
        var fields: [String: String] = [:]
        for header in headers {
            let parts = header.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw ValidationError("\(option) takes 'Name: value'.") }
            fields[String(parts[0])] = parts[1].trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
        }
        return fields
    }

    /// For the handshake of a WebSocket, which has fields of its own.
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
