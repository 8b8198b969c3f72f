import ArgumentParser

/// Ids of events, as arguments.
enum EventID {
    /// - Parameter event: Nil is fine: an argument that was not given.
    static func validate(_ event: String?) throws {
        guard let event, !event.hasPrefix("$") || event.count == 1 else { return }
        throw ValidationError("An event's id starts with $, which a shell wants quoted: '$id'.")
    }
}
