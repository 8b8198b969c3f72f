import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixMembersCommand: AsyncParsableCommand {
    enum Membership: String, CaseIterable, ExpressibleByArgument {
        case join, invite, leave, ban, knock

        var value: MXMembership {
            switch self {
            case .join: .join
            case .invite: .invite
            case .leave: .leave
            case .ban: .ban
            case .knock: .knock
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "members", abstract: "List a room's members, those with the most power first.",
        discussion: """
            Prints the name, the id, the power level if it is not 0, and the membership if it is not join. The creators \
            of newer rooms have more power than any level.

            Examples:
              pusher-cli matrix members '#lobby:example.org'
              pusher-cli matrix members '#lobby:example.org' --membership ban --json
            """)

    @OptionGroup var room: RoomArgument

    @Option(help: "The membership to list.")
    var membership = Membership.join

    @OptionGroup var output: OutputOptions

    @OptionGroup var network: NetworkArguments

    func run() async throws {
        let account = try network.matrixAccount()
        let roomID = try await room.id(for: account)
        let members = try await account.client.members(ofRoom: roomID, membership: membership.value)
            .compactMap(MXRoomMember.init)
            .filter { $0.membership == membership.value }  // in case the server ignores the parameter
        let levels = try await account.client.powerLevels(ofRoom: roomID)
        let records = members.map { member in
            MemberRecord(
                member: member, roomID: roomID, level: levels.powerLevelOfUser(withUserID: member.userId))
        }
        _ = output.write(records.sorted())
    }
}
