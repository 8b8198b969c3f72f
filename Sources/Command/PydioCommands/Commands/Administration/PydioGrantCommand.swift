import ArgumentParser
import PydioSDK

struct PydioGrantCommand: AsyncParsableCommand {
    enum Rights: String, ExpressibleByArgument, CaseIterable {
        case none, read, write
        case readWrite = "read-write"

        var rights: PydioRights {
            switch self {
            case .none: []
            case .read: .read
            case .write: .write
            case .readWrite: [.read, .write]
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "grant", abstract: "Set what a user may do in a workspace.",
        discussion: """
            Replaces the rights that the user had there. Roles and groups may give more.

            Examples:
              pusher-cli pydio admin grant carol plans read-write
              pusher-cli pydio admin grant carol plans none
            """)

    @OptionGroup var name: PydioUserArgument

    @Argument(help: "The workspace: id, slug or label.")
    var workspace: String

    @Argument(help: "What the user may do there.")
    var rights: Rights

    @Flag(help: "Print a JSON object.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func run() async throws {
        try await pydio.run { account in
            let workspace = try await account.anyWorkspace(workspace)
            try await account.client.setRights(rights.rights, ofUser: name.user, inWorkspace: workspace.id)
            AdministrationRecord(kind: .rightsSet, id: name.user, workspaceID: workspace.id, rights: rights.rawValue)
                .write(json: json)
        }
    }
}
