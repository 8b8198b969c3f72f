import Foundation

/// JSON of the caller's own values, by Foundation's encoder: it is once a request, and what servers have come to see.
enum CallersJSON {
    /// - Parameter what: What the value is, for the error.
    static func bytes(_ value: some Encodable, of what: String) throws(PusherHTTPError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        do {
            return Array(try encoder.encode(value))
        } catch {
            throw PusherHTTPError(.invalidArgument, "\(what) cannot be written as JSON")
        }
    }

    static func encode(_ value: some Encodable, of what: String) throws(PusherHTTPError) -> String {
        String(decoding: try bytes(value, of: what), as: UTF8.self)
    }
}
