// `import PydioSync` alone is enough: this makes the types in its signatures usable.
@_exported public import PydioSDK
