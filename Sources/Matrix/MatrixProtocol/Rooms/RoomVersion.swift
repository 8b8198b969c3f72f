/// The differences between room versions (client-server specification, "Room versions").
package struct RoomVersion: Sendable, Hashable {
    /// The version whose rules apply. An unstable version counts as the newest one whose creators are ordinary members.
    package let number: Int

    /// - Parameter identifier: `room_version` in the room's create event; `nil` means version 1.
    package init(_ identifier: String?) {
        number = identifier.map { Int($0) ?? 11 } ?? 1
    }

    /// Whether creators rank above any level and are not listed in the power levels.
    package var creatorsAreAboveAll: Bool { number >= 12 }
    /// Whether only the create event's sender identifies the creator, and redactions name their event in their content.
    package var hasNewRedactions: Bool { number >= 11 }
}
