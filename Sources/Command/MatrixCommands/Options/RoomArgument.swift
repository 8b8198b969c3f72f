import ArgumentParser
import CommandKit

/// The room of a `matrix` command; the user must have joined it.
struct RoomArgument: ParsableArguments {
    @Argument(
        help:
            "The room: an id, an alias, or the name of a room that you are in; a part of the name or alias is enough if no other room has it.",
        completion: RoomReference.completion
    )
    var room: String

    func validate() throws {
        try EmptyValue.refuse(("The room", room))
    }

    var reference: RoomReference { RoomReference(room) }

    func id(for account: MatrixAccount) async throws -> String { try await reference.roomID(for: account) }
}
