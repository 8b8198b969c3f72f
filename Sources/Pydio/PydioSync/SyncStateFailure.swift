import PydioSDK

/// The state is unusable: no step can be done, since none could be recorded.
struct SyncStateFailure: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }

    var error: PydioError { PydioError(.file, message) }
}

extension PydioError {
    /// Whether the error doesn't concern other files.
    var concernsOnePath: Bool {
        [.errorResponse, .file, .tooLarge, .notAZipFileResponse, .invalidArgument, .http(status: 404)].contains(code)
    }

    /// Returns the error for a failed system call on a file.
    static func ofFile(_ what: String, errno code: Int32) -> PydioError {
        PydioError(.file, "\(what): \(String(cString: strerror(code)))")
    }
}
