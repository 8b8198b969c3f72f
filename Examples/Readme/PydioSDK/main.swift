import PydioSDK

let client = PydioClient(server: "https://files.example.org/pydio/")
ServersParamsManager.shared.setUser(User(userid: "ada", password: password), forServer: client.serverURL)
for node in try await client.listNodes(ListNodesRequestParams(workspaceId: "0")).first?.children ?? [] {
    print(node.path, node.size)
}
let events = PydioWorkspaceEvents(client: client, workspaceId: "0")
events.start()
for await event in events.events() {
    print(event.name, event.path ?? "")
}
