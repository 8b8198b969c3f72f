extension PusherMockServer {
    /// Automatic actions of a server, at certain times or in response to events: faults and publications.
    ///
    /// A script is a JSON array of steps:
    ///
    ///     [
    ///       {"on": "subscribe", "channel": "prices", "do": "publish", "event": "tick", "data": "1"},
    ///       {"on": "connection", "after": 2.5, "do": "close", "code": 4200, "times": 1},
    ///       {"do": "fail-auth", "status": 503, "times": 2}
    ///     ]
    ///
    /// A step runs when a connection is established (`"on": "connection"`) or subscribed (`"on": "subscribe"`; with
    /// `channel`, only to that channel), or, without `on`, when the server starts. `after` delays it, in seconds.
    /// `times` limits how often it runs, or how many connections or requests it makes fail; by default there is no
    /// limit. Actions on a connection apply to the one that triggered the step, or else to all.
    ///
    /// | `do` | members |
    /// |---|---|
    /// | `close` | `code`, `reason`; without a code the close frame is empty |
    /// | `drop`, `reset`, `silent`, `ignore-pings` | |
    /// | `garbage` | `text` instead of a broken message |
    /// | `publish` | `event`, `data`, `channel`, which is that of the subscription by default |
    /// | `refuse` | `code` (4100) and `message`: for new connections |
    /// | `fail-auth` | `status` (403) and `body`: for requests to the auth endpoints |
    /// | `clear-faults` | ends `refuse` and `fail-auth` |
    public struct Script: Hashable, Sendable {
        let steps: [Step]

        /// - Throws: ``PusherMockServerError/Code/invalidScript``, with a message that names the step.
        public init(json: String) throws(PusherMockServerError) {
            // The parser of objects keeps each member's text.
            guard let script = JSONObject(#"{"steps":\#(json)}"#), script.names == ["steps"],
                let objects = script.objects("steps")
            else {
                throw PusherMockServerError(.invalidScript, "a script is a JSON array of objects")
            }
            var steps: [Step] = []
            for (index, object) in objects.enumerated() {
                do {
                    steps.append(try Step(object))
                } catch {
                    throw PusherMockServerError(.invalidScript, "step \(index + 1): \(error.message)")
                }
            }
            self.steps = steps
        }
    }
}
