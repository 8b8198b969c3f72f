/// A Pydio server for tests.
package final class FakePydioServer: Sendable {}
