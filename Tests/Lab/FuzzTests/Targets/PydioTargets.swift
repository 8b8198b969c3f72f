import PydioProtocol
import Transport

/// Answers from a Pydio server, of any declared kind.
func fuzzPydioAnswers(_ bytes: [UInt8]) throws(BrokenClaim) {
    let types = ["text/xml", "application/xml; charset=UTF-8", "text/html", "text/plain", "application/json", ""]
    guard let first = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    let body = AnswerBody(
        HTTPResponse(status: 200, fields: ["Content-Type": types[Int(first) % types.count]], body: rest))
    _ = AnswerRecogniser.seed.read(body)
    _ = AnswerRecogniser.login.read(body)
    _ = AnswerRecogniser.secureToken.read(body)
    _ = AnswerRecogniser.keystoreToken.read(body)
    _ = AnswerRecogniser.success(of: "mkdir").read(body)
    _ = AnswerRecogniser<PydioChangesResponse>.changes(after: 1).read(body)
    switch AnswerRecogniser.success(of: "mkdir").read(body, secrets: ["secret"]) {
    case .unexpected(let error), .serverError(let error):
        try claim("no error quotes a secret", !error.description.contains("secret"))
        try claim("errors are short", error.description.utf8.count < 4096)
    case .notAuthorized, .value: break
    }
}

/// A document survives a round trip, and its messages are extracted from one frame or two.
func fuzzPydioDocuments(_ bytes: [UInt8]) throws(BrokenClaim) {
    var limits = XMLLimits()
    limits.depth = 16
    guard let root = try? XMLReader.read(bytes, limits: limits) else { return }
    let again = try? XMLReader.read(Array(root.serialised.utf8), limits: limits)
    try claim("written and read again it is the same", again?.serialised == root.serialised)
    guard let messages = ChannelMessage.list(in: root) else { return }
    var frames = SocketFrames()
    try claim("a frame brings its messages", frames.received(bytes) == .messages(messages) || bytes.count > 1 << 20)
}
