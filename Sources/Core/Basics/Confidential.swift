/// A value that contains a secret. Printing, dumping or reflecting on it shows only its description.
package protocol Confidential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Confidential {
    package var debugDescription: String { description }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
