import Basics

/// The configuration of a running server.
extension FakePydioServer {
    /// Changes the configuration from the next request on.
    package func configure(_ change: (inout Configuration) -> Void) {
        core.state.withLock { change(&$0.configuration) }
    }

    package var configuration: Configuration { core.state.withLock { $0.configuration } }
}
