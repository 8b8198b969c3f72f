import MatrixProtocol

extension MatrixError {
    static func storeIsOpen(of userId: String) -> MatrixError {
        MatrixError(.store, "This store is open already, so it was not opened for \(userId): close it first.")
    }

    static let storeIsClosed = MatrixError(.store, "The store is not open: open it before it is used.")
}
