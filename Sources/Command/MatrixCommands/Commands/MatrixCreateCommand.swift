import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Create a room, and print its id.",
        discussion: """
            Examples:
              pusher-cli matrix create --name Lobby --public --invite @bob:example.org
              pusher-cli matrix create --direct --encrypted --invite @bob:example.org
            """)

    @Option(help: "The room's name.")
    var name: String?

    @Option(help: "The room's topic.")
    var topic: String?

    @Option(help: "The room's alias on your server: lobby for #lobby:example.org.")
    var alias: String?

    @Flag(name: .customLong("public"), help: "Let everyone join. Default: only invited users.")
    var isPublic = false

    @Flag(help: "Make it a direct chat with the one invited user.")
    var direct = false

    @Flag(help: "Encrypt its messages, which cannot be undone.")
    var encrypted = false

    @Option(help: ArgumentHelp("Invite this user. May be repeated.", valueName: "user"))
    var invite: [String] = []

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        try UserID.validate(invite)
        guard !direct || invite.count == 1 else { throw ValidationError("--direct needs one --invite.") }
        guard !direct || !isPublic else { throw ValidationError("--direct and --public cannot be used together.") }
    }

    func run() async throws {
        let account = try network.matrixAccount()
        let room = MXRoomCreationParameters()
        (room.name, room.topic, room.isDirect, room.isEncrypted) = (name, topic, direct, encrypted)
        // Also accepts the form #lobby:example.org.
        room.roomAlias = alias.map { String($0.drop { $0 == "#" }.prefix { $0 != ":" }) }
        room.inviteArray = invite.isEmpty ? nil : invite
        room.preset =
            isPublic ? kMXRoomPresetPublicChat : direct ? kMXRoomPresetTrustedPrivateChat : kMXRoomPresetPrivateChat
        let id = try await account.client.createRoom(parameters: room)
        guard StandardOutput.write(TerminalText(id)) else { return }
        if direct, let user = invite.first { try await account.addDirectRoom(id, with: user) }
    }
}

/// User ids, as arguments.
enum UserID {
    static func validate(_ users: [String]) throws {
        for user in users where !user.hasPrefix("@") || !user.contains(":") {
            throw ValidationError("A user's id is @name:server, not \(user).")
        }
    }
}
