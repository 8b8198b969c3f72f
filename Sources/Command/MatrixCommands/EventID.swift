import ArgumentParser

/// Event ids, as arguments.
enum EventID {
    /// - Parameter event: The id; `nil`, a missing argument, is valid.
    static func validate(_ event: String?) throws {
        guard let event, !event.hasPrefix("$") || event.count == 1 else { return }
        throw ValidationError("An event's id starts with $, which a shell wants quoted: '$id'.")
    }
}
