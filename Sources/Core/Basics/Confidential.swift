/// A value with a secret in it: printing, dumping or reflecting on it gives its description and nothing else.
package protocol Confidential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Confidential {
    package var debugDescription: String { description }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
