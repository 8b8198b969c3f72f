import Basics
import PusherProtocol

@testable import PusherMockServer

/// An HTTP API request: method and target in the first line, then the body. It is checked as received, and again signed
/// by us; then only its content is right or wrong.
func fuzzHTTPAPI(_ bytes: [UInt8]) throws(BrokenClaim) {
    let parts = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    let line = parts[0].split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
    guard line.count == 2 else { return }
    var request = APIRequest(
        method: String(decoding: line[0], as: UTF8.self),
        target: RequestTarget(String(decoding: line[1], as: UTF8.self)),
        body: parts.count == 2 ? Array(parts[1]) : [])
    let application = ApplicationState(app: PusherMockServer.App())
    let clock = HTTPAPI.Clock(instant: MonotonicInstant(nanoseconds: 0), unixTime: 1_353_088_179)
    let answer = respond(to: request, application, clock)
    try claim("nobody can do anything without the secret", answer.commands.isEmpty && answer.response.status >= 400)

    request.target = signed(request, application.credentials, clock)
    let signedAnswer = respond(to: request, application, clock)
    try claim("a signed request is not unauthorized", signedAnswer.response.status != 401)
    for command in signedAnswer.commands {
        switch command {
        case .publish(let publication):
            try claim("what is published has a valid channel", (try? ChannelName(publication.channel)) != nil)
            try claim(
                "what is published keeps the bound",
                publication.data.utf8.count <= ApplicationState.maximumDataSize)
        case .terminateConnections(let userID): try claim("a user has an id", !userID.isEmpty)
        }
    }
    _ = AuthEndpoint.channels.respond(
        to: request, with: request.formParameters, applications: [application], requiredHeaders: [:])
    _ = AuthEndpoint.users.respond(
        to: request, with: request.formParameters, applications: [application], requiredHeaders: [:])
}

private func respond(to request: APIRequest, _ application: ApplicationState, _ clock: HTTPAPI.Clock) -> HTTPAPI.Answer
{
    HTTPAPI.respond(to: request, path: request.target.path, applications: [application], clock: clock)
}

private func signed(
    _ request: APIRequest, _ credentials: AppCredentials, _ clock: HTTPAPI.Clock
) -> RequestTarget {
    let own = ["auth_key", "auth_timestamp", "auth_version", "body_md5", "auth_signature"]
    var query = request.target.query.filter { !own.contains($0.name) }
    query.append(.init(name: "auth_key", value: credentials.key))
    query.append(.init(name: "auth_timestamp", value: "\(clock.unixTime)"))
    query.append(.init(name: "auth_version", value: "1.0"))
    query.append(.init(name: "body_md5", value: Digest.md5(request.body).hexadecimal))
    let signature = credentials.httpSignature(
        method: request.method, path: request.target.path, query: query.map { ($0.name, $0.value) })
    query.append(.init(name: "auth_signature", value: signature))
    return RequestTarget(path: request.target.path, query: query)
}

/// A text frame from a client of the mock server.
func fuzzClientFrames(_ bytes: [UInt8]) throws(BrokenClaim) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let message = try? ClientMessage(parsing: text), case .clientEvent(let event) = message {
        try claim("data is passed on as JSON", event.data.map(JSONText.isJSON) ?? true)
    }
    if let member = try? PresenceMember(channelData: text, channel: "presence-x") {
        try claim("a member has an id", !member.userID.isEmpty)
        try claim("info is JSON", member.userInfo.map(JSONText.isJSON) ?? true)
    }
    if let user = try? UserData(text) {
        try claim("a user has an id", !user.id.isEmpty)
        try claim("a watchlist keeps its bound", user.watchlist.count <= UserData.maximumWatchlistSize)
    }
}
