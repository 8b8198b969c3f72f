package import Basics
package import MatrixProtocol

extension MatrixError {
    package init(_ error: PrivateFileError) {
        self.init(.file, error.description)
    }

    /// Runs `body`, which reads or writes a private file.
    @discardableResult
    package static func ofFile<Value>(_ body: () throws(PrivateFileError) -> Value) throws(MatrixError) -> Value {
        do throws(PrivateFileError) {
            return try body()
        } catch {
            throw MatrixError(error)
        }
    }
}
