import PydioSDK

/// The state cannot be used: no step can be done, since none could be recorded.
struct SyncStateFailure: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }

    var error: PydioError { PydioError(.file, message) }
}

extension PydioError {
    /// Whether it says nothing of other files.
    var concernsOnePath: Bool {
        [.errorResponse, .file, .tooLarge, .notAZipFileResponse, .invalidArgument, .http(status: 404)].contains(code)
    }

    /// A failure of the system's.
    static func ofFile(_ what: String, errno code: Int32) -> PydioError {
        PydioError(.file, "\(what): \(String(cString: strerror(code)))")
    }
}
