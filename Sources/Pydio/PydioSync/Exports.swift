// This export makes the types in PydioSync's signatures usable with `import PydioSync` alone.
@_exported public import PydioSDK
