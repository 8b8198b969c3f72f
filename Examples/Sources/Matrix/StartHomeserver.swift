import Foundation
import ScriptedServer
import Synchronization

/// Starts a stand-in for a homeserver. It has one room, where bob answers alice.
func startHomeserver() throws -> Account {
    let homeserver = Homeserver()
    let server = try ScriptedServer { homeserver.answer($0) }
    return Account(homeserver: server.url, user: "alice", password: "open sesame", room: "#lobby:example.org")
}

private final class Homeserver: Sendable {
    private struct Message {
        let sender: String
        let content: String
        let transaction: String?
    }

    private let messages = Mutex<[Message]>([])
    private let hasNews = DispatchSemaphore(value: 0)

    func answer(_ request: ScriptedServer.Request) -> ScriptedServer.Answer {
        let parts = request.path.split(separator: "/").map(String.init)
        if parts.last == "login", request.method == "POST" {
            return .json(#"{"user_id":"@alice:example.org","access_token":"token","device_id":"EXAMPLE"}"#)
        }
        if parts.last == "logout" { return .json("{}") }
        if parts.last == "filter" { return .json(#"{"filter_id":"1"}"#) }
        if parts.last == "sync" { return .json(sync(since: request.parameters["since"].flatMap { Int($0) })) }
        if parts.contains("send"), let transaction = parts.last {
            let said = Message(
                sender: "@alice:example.org", content: String(decoding: request.body, as: UTF8.self),
                transaction: transaction)
            let answer = Message(
                sender: "@bob:example.org", content: #"{"msgtype":"m.text","body":"hello alice"}"#, transaction: nil)
            messages.withLock { $0 += [said, answer] }
            hasNews.signal()
            return .json(#"{"event_id":"$0"}"#)
        }
        return .json(#"{"errcode":"M_UNRECOGNIZED","error":"not in this example"}"#, status: 404)
    }

    /// The first time, the room; later, the messages since then, for which it waits up to 30 seconds.
    private func sync(since: Int?) -> String {
        guard let since else {
            return #"""
                {"next_batch":"0","rooms":{"join":{"!lobby:example.org":{
                  "state":{"events":[
                    {"type":"m.room.create","state_key":"","event_id":"$c","sender":"@bob:example.org","content":{}},
                    {"type":"m.room.name","state_key":"","event_id":"$n","sender":"@bob:example.org",
                     "content":{"name":"Lobby"}},
                    {"type":"m.room.canonical_alias","state_key":"","event_id":"$a","sender":"@bob:example.org",
                     "content":{"alias":"#lobby:example.org"}},
                    {"type":"m.room.member","state_key":"@alice:example.org","event_id":"$m",
                     "sender":"@alice:example.org","content":{"membership":"join"}}]},
                  "timeline":{"events":[]}}}}}
                """#
        }
        if messages.withLock({ $0.count }) == since { _ = hasNews.wait(timeout: .now() + 30) }
        let (new, next) = messages.withLock { ($0.dropFirst(since), $0.count) }
        let events = zip(since..., new).map { number, message in
            let unsigned = message.transaction.map { #""transaction_id":"\#($0)""# } ?? ""
            return #"""
                {"type":"m.room.message","event_id":"$\#(number)","sender":"\#(message.sender)","origin_server_ts":1,
                 "content":\#(message.content),"unsigned":{\#(unsigned)}}
                """#
        }
        return #"""
            {"next_batch":"\#(next)","rooms":{"join":{"!lobby:example.org":
             {"timeline":{"events":[\#(events.joined(separator: ","))]}}}}}
            """#
    }
}
