"""Jupyter kernels for tests."""

from jupyter_client.manager import start_new_kernel


class Kernel:
    """A kernel in the folder of an exercise, asked as JupyterLab asks it."""

    def __init__(self, folder):
        self.manager, self.client = start_new_kernel(kernel_name="python3", cwd=str(folder))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, source: str, cell: str = "") -> str:
        """Return what a cell prints and shows as text, and the error that it ends with."""
        content = {
            "code": source,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        message = self.client.session.msg("execute_request", content, metadata={"cellId": cell} if cell else {})
        self.client.shell_channel.send(message)
        shown = []
        while True:
            answer = self.client.get_iopub_msg(timeout=120)
            if answer["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            kind, found = answer["msg_type"], answer["content"]
            if kind == "status" and found["execution_state"] == "idle":
                return "\n".join(filter(None, shown))
            shown.append(found.get("text") or found.get("data", {}).get("text/plain") or found.get("evalue", ""))

    def notebook(self, notebook) -> dict[str, str]:
        return {cell.id: self.run(cell.source, cell.id) for cell in notebook.cells if cell.cell_type == "code"}
