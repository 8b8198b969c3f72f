/// What the rules of a room depend on (client-server specification, "Room versions").
package struct RoomVersion: Sendable, Hashable {
    /// The rules that hold here; an unstable version counts as the newest one whose creators are members like others.
    package let number: Int

    /// - Parameter identifier: `room_version` of the room's create event; nil is version 1.
    package init(_ identifier: String?) {
        number = identifier.map { Int($0) ?? 11 } ?? 1
    }

    /// The power levels do not list the creators, who are above every number.
    package var creatorsAreAboveAll: Bool { number >= 12 }
    /// The create event names its sender nowhere else; redactions name their event in their content.
    package var hasNewRedactions: Bool { number >= 11 }
}
