import Foundation
import GRDB
import MatrixProtocol

/// Interprets database errors. The messages never contain the data to be stored.
enum StoreFailure {
    /// Returns whether the contents of the database are at fault, so retrying is useless.
    static func isDamage(_ error: any Error) -> Bool {
        switch error {
        case let error as DatabaseError:
            switch error.resultCode {
            // Our statements are fixed: if one cannot be prepared, or violates a constraint, the file is at fault.
            case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT, .SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH:
                true
            default:
                false
            }
        case is MatrixError, is EncodingError: false
        default: true  // StoreDamage, or a value of the wrong type for its column
        }
    }

    static func reason(_ error: any Error) -> String {
        switch error {
        case let error as DatabaseError: error.message ?? "SQLite's error \(error.resultCode.rawValue)"
        case let error as StoreDamage: error.what
        case let error as MatrixError: error.message
        case is EncodingError: "a value cannot be written"
        default: "a value is not what its column holds"
        }
    }

    static func describe(_ error: any Error, _ what: String, _ folder: StoreFolder) -> MatrixError {
        if let error = error as? MatrixError { return error }
        var next = "Nothing was changed."
        if let error = error as? DatabaseError {
            switch error.resultCode {
            case .SQLITE_FULL: next = "Nothing was changed: make room on the disk, and try again."
            case .SQLITE_MISUSE: return .storeIsClosed
            default: break
            }
        }
        return MatrixError(
            .store, "Could not \(what) the store of \(folder.userId) in \(folder.path): \(reason(error)). \(next)")
    }

    static func newer(_ folder: StoreFolder) -> MatrixError {
        MatrixError(
            .store,
            "The store of \(folder.userId) in \(folder.path) was made by a newer version of this library. It was left "
                + "as it is: use that version. The folder also has the keys of encrypted messages: without them, they can only "
                + "be read from a backup of keys.")
    }

    static func damage(_ folder: StoreFolder) -> MatrixError {
        MatrixError(
            .store,
            "The store of \(folder.userId) in \(folder.path) is damaged. It will be rebuilt when it is opened again, with the keys that can be read."
        )
    }
}
