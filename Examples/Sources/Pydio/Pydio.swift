// Logs in at a Pydio server, lists its first workspace, and prints what happens there until something is created.
//
//     swift run Pydio                                                         # with an embedded stand-in
//     PYDIO_PASSWORD=… swift run Pydio https://example.org/pydio/ ada
import PydioSDK

struct Account {
    let server: URL
    let user: User
}

struct NoWorkspace: Error, CustomStringConvertible {
    let description = "the account has no workspace with files"
}

@main
struct Pydio {
    static func main() async {
        do {
            try await watch(as: try account())
        } catch {
            FileHandle.standardError.write(Data("Pydio: \(error)\n".utf8))
            exit(1)
        }
    }

    static func account() throws -> Account {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 2, let url = URL(string: arguments[0]) else { return try startPydioServer() }
        let password = ProcessInfo.processInfo.environment["PYDIO_PASSWORD"] ?? ""
        return Account(server: url, user: User(userid: arguments[1], password: password))
    }

    static func watch(as account: Account) async throws {
        // Calls log in by themselves, with what is set here once.
        ServersParamsManager.shared.setUser(account.user, forServer: account.server)
        let client = PydioClient(server: account.server)

        guard let workspace = try await client.listWorkspaces().first(where: \.isFileStore) else {
            throw NoWorkspace()
        }
        print("workspace:", workspace.label ?? workspace.workspaceId)
        let folder = try await client.listAllNodes(ListNodesRequestParams(workspaceId: workspace.workspaceId))
        for node in folder?.children ?? [] {
            print(node.isLeaf ? "file" : "folder", node.path, node.size)
        }

        let events = PydioWorkspaceEvents(client: client, workspaceId: workspace.workspaceId)
        defer { events.close() }
        let changes = events.events()  // from now on
        events.start()
        for await change in changes {
            if let state = change.state {
                print(state.stringValue())
            } else {
                print(change.name, change.path ?? "")
            }
            if change.name == PydioEventName.nodeCreated { break }
        }
    }
}
